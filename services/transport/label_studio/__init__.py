"""Label Studio's JSON: tasks made of claimed requests, and labels made of annotations."""
