"""Studies: scripts that write the pages of docs/quality, numbers of data sheets and the reference artefacts."""
