"""Descriptions of the channels of a feature map, for callers who draw their own maps."""

from models.schema import Feature, Schema
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.maps import MOST
from models.tasks.motion.inference.render import CHANNEL_NAMES

_FRAME = "in the frame of the agent"
_ABOUT = {
    "vehicle_occupancy": ("1", "1 where a vehicle is now"),
    "vehicle_velocity_x": ("m/s", f"velocity of that vehicle along x {_FRAME}"),
    "vehicle_velocity_y": ("m/s", f"velocity of that vehicle along y {_FRAME}"),
    "vehicle_acceleration_x": ("m/s²", f"acceleration of that vehicle along x {_FRAME}"),
    "vehicle_acceleration_y": ("m/s²", f"acceleration of that vehicle along y {_FRAME}"),
    "vehicle_yaw": ("rad", "yaw of that vehicle in the frame of the scene, known up to half a turn"),
    "pedestrian_occupancy": ("1", "1 where a pedestrian is now"),
    "pedestrian_velocity_x": ("m/s", f"velocity of that pedestrian along x {_FRAME}"),
    "pedestrian_velocity_y": ("m/s", f"velocity of that pedestrian along y {_FRAME}"),
    "crosswalk_occupancy": ("1", "1 on a crosswalk"),
    "crosswalk_availability": ("1", "2 without lights, -1 where pedestrians may walk now, else 1"),
    "lane_availability": ("1", "2 without lights, 1 enabled, -1 red or yellow, -2 not known"),
    "lane_direction": ("rad", f"direction of the lane {_FRAME}"),
    "lane_occupancy": ("1", "1 on the middle of a lane"),
    "lane_priority": ("1", "1 on a lane that gives way to another"),
    "lane_speed_limit": ("15 m/s", "speed limit of the lane, divided by 15 m/s"),
    "road_polygons": ("1", "1 on a road"),
}


def schema(grid: Grid) -> Schema:
    """Return the channels in the released order, each a map of cells of the grid."""
    cells = (
        f"{grid.size} x {grid.size} cells of {grid.resolution:g} m, rows are y and columns x, the agent in the middle"
    )
    found = []
    for name in CHANNEL_NAMES:
        unit, words = _ABOUT[name]
        found.append(Feature(name, unit, -MOST, MOST, f"{words[0].upper()}{words[1:]}; {cells}."))
    return Schema(tuple(found))
