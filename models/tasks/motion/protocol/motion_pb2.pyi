from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TrajectoryTag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kMoveLeft: _ClassVar[TrajectoryTag]
    kMoveRight: _ClassVar[TrajectoryTag]
    kMoveForward: _ClassVar[TrajectoryTag]
    kMoveBack: _ClassVar[TrajectoryTag]
    kAcceleration: _ClassVar[TrajectoryTag]
    kDeceleration: _ClassVar[TrajectoryTag]
    kUniform: _ClassVar[TrajectoryTag]
    kStopping: _ClassVar[TrajectoryTag]
    kStarting: _ClassVar[TrajectoryTag]
    kStationary: _ClassVar[TrajectoryTag]

class TrafficLightState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_UNKNOWN: _ClassVar[TrafficLightState]
    STATE_GREEN: _ClassVar[TrafficLightState]
    STATE_BLINKING_GREEN: _ClassVar[TrafficLightState]
    STATE_YELLOW: _ClassVar[TrafficLightState]
    STATE_RED: _ClassVar[TrafficLightState]
    STATE_RED_YELLOW: _ClassVar[TrafficLightState]
    STATE_NOT_WORKING: _ClassVar[TrafficLightState]
    STATE_ENABLED: _ClassVar[TrafficLightState]
    STATE_BLINKING_ENABLED: _ClassVar[TrafficLightState]
    STATE_DISABLED: _ClassVar[TrafficLightState]
    STATE_INVISIBLE: _ClassVar[TrafficLightState]
    STATE_BLINKING_RED: _ClassVar[TrafficLightState]

class DayTime(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnknownDayTime: _ClassVar[DayTime]
    kNight: _ClassVar[DayTime]
    kMorning: _ClassVar[DayTime]
    kAfternoon: _ClassVar[DayTime]
    kEvening: _ClassVar[DayTime]

class Season(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnknownSeason: _ClassVar[Season]
    kWinter: _ClassVar[Season]
    kSpring: _ClassVar[Season]
    kSummer: _ClassVar[Season]
    kAutumn: _ClassVar[Season]

class Location(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnknownLocation: _ClassVar[Location]
    Moscow: _ClassVar[Location]
    Skolkovo: _ClassVar[Location]
    Innopolis: _ClassVar[Location]
    AnnArbor: _ClassVar[Location]
    Modiin: _ClassVar[Location]
    TelAviv: _ClassVar[Location]

class SunPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnknownSunPhase: _ClassVar[SunPhase]
    kAstronomicalNight: _ClassVar[SunPhase]
    kTwilight: _ClassVar[SunPhase]
    kDaylight: _ClassVar[SunPhase]

class Precipitation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnknownPrecipitation: _ClassVar[Precipitation]
    kNoPrecipitation: _ClassVar[Precipitation]
    kRain: _ClassVar[Precipitation]
    kSleet: _ClassVar[Precipitation]
    kSnow: _ClassVar[Precipitation]
kMoveLeft: TrajectoryTag
kMoveRight: TrajectoryTag
kMoveForward: TrajectoryTag
kMoveBack: TrajectoryTag
kAcceleration: TrajectoryTag
kDeceleration: TrajectoryTag
kUniform: TrajectoryTag
kStopping: TrajectoryTag
kStarting: TrajectoryTag
kStationary: TrajectoryTag
STATE_UNKNOWN: TrafficLightState
STATE_GREEN: TrafficLightState
STATE_BLINKING_GREEN: TrafficLightState
STATE_YELLOW: TrafficLightState
STATE_RED: TrafficLightState
STATE_RED_YELLOW: TrafficLightState
STATE_NOT_WORKING: TrafficLightState
STATE_ENABLED: TrafficLightState
STATE_BLINKING_ENABLED: TrafficLightState
STATE_DISABLED: TrafficLightState
STATE_INVISIBLE: TrafficLightState
STATE_BLINKING_RED: TrafficLightState
kUnknownDayTime: DayTime
kNight: DayTime
kMorning: DayTime
kAfternoon: DayTime
kEvening: DayTime
kUnknownSeason: Season
kWinter: Season
kSpring: Season
kSummer: Season
kAutumn: Season
kUnknownLocation: Location
Moscow: Location
Skolkovo: Location
Innopolis: Location
AnnArbor: Location
Modiin: Location
TelAviv: Location
kUnknownSunPhase: SunPhase
kAstronomicalNight: SunPhase
kTwilight: SunPhase
kDaylight: SunPhase
kUnknownPrecipitation: Precipitation
kNoPrecipitation: Precipitation
kRain: Precipitation
kSleet: Precipitation
kSnow: Precipitation

class Vector3(_message.Message):
    __slots__ = ("x", "y", "z")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    Z_FIELD_NUMBER: _ClassVar[int]
    x: float
    y: float
    z: float
    def __init__(self, x: _Optional[float] = ..., y: _Optional[float] = ..., z: _Optional[float] = ...) -> None: ...

class Polygon(_message.Message):
    __slots__ = ("points",)
    POINTS_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[Vector3]
    def __init__(self, points: _Optional[_Iterable[_Union[Vector3, _Mapping]]] = ...) -> None: ...

class Submission(_message.Message):
    __slots__ = ("predictions",)
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    predictions: _containers.RepeatedCompositeFieldContainer[ObjectPrediction]
    def __init__(self, predictions: _Optional[_Iterable[_Union[ObjectPrediction, _Mapping]]] = ...) -> None: ...

class ObjectPrediction(_message.Message):
    __slots__ = ("track_id", "scene_id", "weighted_trajectories", "uncertainty_measure", "is_ood")
    TRACK_ID_FIELD_NUMBER: _ClassVar[int]
    SCENE_ID_FIELD_NUMBER: _ClassVar[int]
    WEIGHTED_TRAJECTORIES_FIELD_NUMBER: _ClassVar[int]
    UNCERTAINTY_MEASURE_FIELD_NUMBER: _ClassVar[int]
    IS_OOD_FIELD_NUMBER: _ClassVar[int]
    track_id: int
    scene_id: str
    weighted_trajectories: _containers.RepeatedCompositeFieldContainer[WeightedTrajectory]
    uncertainty_measure: float
    is_ood: bool
    def __init__(self, track_id: _Optional[int] = ..., scene_id: _Optional[str] = ..., weighted_trajectories: _Optional[_Iterable[_Union[WeightedTrajectory, _Mapping]]] = ..., uncertainty_measure: _Optional[float] = ..., is_ood: bool = ...) -> None: ...

class WeightedTrajectory(_message.Message):
    __slots__ = ("trajectory", "weight")
    TRAJECTORY_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    trajectory: Trajectory
    weight: float
    def __init__(self, trajectory: _Optional[_Union[Trajectory, _Mapping]] = ..., weight: _Optional[float] = ...) -> None: ...

class Trajectory(_message.Message):
    __slots__ = ("points",)
    POINTS_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[Vector3]
    def __init__(self, points: _Optional[_Iterable[_Union[Vector3, _Mapping]]] = ...) -> None: ...

class Scene(_message.Message):
    __slots__ = ("id", "past_vehicle_tracks", "past_pedestrian_tracks", "past_ego_track", "future_vehicle_tracks", "prediction_requests", "path_graph", "traffic_lights", "scene_tags", "future_pedestrian_tracks", "future_ego_track")
    ID_FIELD_NUMBER: _ClassVar[int]
    PAST_VEHICLE_TRACKS_FIELD_NUMBER: _ClassVar[int]
    PAST_PEDESTRIAN_TRACKS_FIELD_NUMBER: _ClassVar[int]
    PAST_EGO_TRACK_FIELD_NUMBER: _ClassVar[int]
    FUTURE_VEHICLE_TRACKS_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    PATH_GRAPH_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_LIGHTS_FIELD_NUMBER: _ClassVar[int]
    SCENE_TAGS_FIELD_NUMBER: _ClassVar[int]
    FUTURE_PEDESTRIAN_TRACKS_FIELD_NUMBER: _ClassVar[int]
    FUTURE_EGO_TRACK_FIELD_NUMBER: _ClassVar[int]
    id: str
    past_vehicle_tracks: _containers.RepeatedCompositeFieldContainer[VehicleTracks]
    past_pedestrian_tracks: _containers.RepeatedCompositeFieldContainer[PedestrianTracks]
    past_ego_track: _containers.RepeatedCompositeFieldContainer[VehicleTrack]
    future_vehicle_tracks: _containers.RepeatedCompositeFieldContainer[VehicleTracks]
    prediction_requests: _containers.RepeatedCompositeFieldContainer[PredictionRequest]
    path_graph: PathGraph
    traffic_lights: _containers.RepeatedCompositeFieldContainer[TrafficLightSections]
    scene_tags: SceneTags
    future_pedestrian_tracks: _containers.RepeatedCompositeFieldContainer[PedestrianTracks]
    future_ego_track: _containers.RepeatedCompositeFieldContainer[VehicleTrack]
    def __init__(self, id: _Optional[str] = ..., past_vehicle_tracks: _Optional[_Iterable[_Union[VehicleTracks, _Mapping]]] = ..., past_pedestrian_tracks: _Optional[_Iterable[_Union[PedestrianTracks, _Mapping]]] = ..., past_ego_track: _Optional[_Iterable[_Union[VehicleTrack, _Mapping]]] = ..., future_vehicle_tracks: _Optional[_Iterable[_Union[VehicleTracks, _Mapping]]] = ..., prediction_requests: _Optional[_Iterable[_Union[PredictionRequest, _Mapping]]] = ..., path_graph: _Optional[_Union[PathGraph, _Mapping]] = ..., traffic_lights: _Optional[_Iterable[_Union[TrafficLightSections, _Mapping]]] = ..., scene_tags: _Optional[_Union[SceneTags, _Mapping]] = ..., future_pedestrian_tracks: _Optional[_Iterable[_Union[PedestrianTracks, _Mapping]]] = ..., future_ego_track: _Optional[_Iterable[_Union[VehicleTrack, _Mapping]]] = ...) -> None: ...

class VehicleTracks(_message.Message):
    __slots__ = ("tracks",)
    TRACKS_FIELD_NUMBER: _ClassVar[int]
    tracks: _containers.RepeatedCompositeFieldContainer[VehicleTrack]
    def __init__(self, tracks: _Optional[_Iterable[_Union[VehicleTrack, _Mapping]]] = ...) -> None: ...

class VehicleTrack(_message.Message):
    __slots__ = ("track_id", "position", "dimensions", "linear_velocity", "linear_acceleration", "yaw")
    TRACK_ID_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    LINEAR_VELOCITY_FIELD_NUMBER: _ClassVar[int]
    LINEAR_ACCELERATION_FIELD_NUMBER: _ClassVar[int]
    YAW_FIELD_NUMBER: _ClassVar[int]
    track_id: int
    position: Vector3
    dimensions: Vector3
    linear_velocity: Vector3
    linear_acceleration: Vector3
    yaw: float
    def __init__(self, track_id: _Optional[int] = ..., position: _Optional[_Union[Vector3, _Mapping]] = ..., dimensions: _Optional[_Union[Vector3, _Mapping]] = ..., linear_velocity: _Optional[_Union[Vector3, _Mapping]] = ..., linear_acceleration: _Optional[_Union[Vector3, _Mapping]] = ..., yaw: _Optional[float] = ...) -> None: ...

class PedestrianTracks(_message.Message):
    __slots__ = ("tracks",)
    TRACKS_FIELD_NUMBER: _ClassVar[int]
    tracks: _containers.RepeatedCompositeFieldContainer[PedestrianTrack]
    def __init__(self, tracks: _Optional[_Iterable[_Union[PedestrianTrack, _Mapping]]] = ...) -> None: ...

class PedestrianTrack(_message.Message):
    __slots__ = ("track_id", "position", "dimensions", "linear_velocity")
    TRACK_ID_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    LINEAR_VELOCITY_FIELD_NUMBER: _ClassVar[int]
    track_id: int
    position: Vector3
    dimensions: Vector3
    linear_velocity: Vector3
    def __init__(self, track_id: _Optional[int] = ..., position: _Optional[_Union[Vector3, _Mapping]] = ..., dimensions: _Optional[_Union[Vector3, _Mapping]] = ..., linear_velocity: _Optional[_Union[Vector3, _Mapping]] = ...) -> None: ...

class PredictionRequest(_message.Message):
    __slots__ = ("track_id", "trajectory_tags")
    TRACK_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_TAGS_FIELD_NUMBER: _ClassVar[int]
    track_id: int
    trajectory_tags: _containers.RepeatedScalarFieldContainer[TrajectoryTag]
    def __init__(self, track_id: _Optional[int] = ..., trajectory_tags: _Optional[_Iterable[_Union[TrajectoryTag, str]]] = ...) -> None: ...

class PathGraph(_message.Message):
    __slots__ = ("lanes", "crosswalks", "road_polygons")
    LANES_FIELD_NUMBER: _ClassVar[int]
    CROSSWALKS_FIELD_NUMBER: _ClassVar[int]
    ROAD_POLYGONS_FIELD_NUMBER: _ClassVar[int]
    lanes: _containers.RepeatedCompositeFieldContainer[Lane]
    crosswalks: _containers.RepeatedCompositeFieldContainer[Crosswalk]
    road_polygons: _containers.RepeatedCompositeFieldContainer[RoadPolygon]
    def __init__(self, lanes: _Optional[_Iterable[_Union[Lane, _Mapping]]] = ..., crosswalks: _Optional[_Iterable[_Union[Crosswalk, _Mapping]]] = ..., road_polygons: _Optional[_Iterable[_Union[RoadPolygon, _Mapping]]] = ...) -> None: ...

class Lane(_message.Message):
    __slots__ = ("centers", "max_velocity", "gives_way_to_some_lane", "traffic_light_section_ids")
    CENTERS_FIELD_NUMBER: _ClassVar[int]
    MAX_VELOCITY_FIELD_NUMBER: _ClassVar[int]
    GIVES_WAY_TO_SOME_LANE_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_LIGHT_SECTION_IDS_FIELD_NUMBER: _ClassVar[int]
    centers: _containers.RepeatedCompositeFieldContainer[Vector3]
    max_velocity: float
    gives_way_to_some_lane: bool
    traffic_light_section_ids: TrafficLightSectionIds
    def __init__(self, centers: _Optional[_Iterable[_Union[Vector3, _Mapping]]] = ..., max_velocity: _Optional[float] = ..., gives_way_to_some_lane: bool = ..., traffic_light_section_ids: _Optional[_Union[TrafficLightSectionIds, _Mapping]] = ...) -> None: ...

class Crosswalk(_message.Message):
    __slots__ = ("geometry", "control_rules")
    GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    CONTROL_RULES_FIELD_NUMBER: _ClassVar[int]
    geometry: Polygon
    control_rules: _containers.RepeatedCompositeFieldContainer[TrafficLightRule]
    def __init__(self, geometry: _Optional[_Union[Polygon, _Mapping]] = ..., control_rules: _Optional[_Iterable[_Union[TrafficLightRule, _Mapping]]] = ...) -> None: ...

class RoadPolygon(_message.Message):
    __slots__ = ("geometry",)
    GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    geometry: Polygon
    def __init__(self, geometry: _Optional[_Union[Polygon, _Mapping]] = ...) -> None: ...

class TrafficLightRule(_message.Message):
    __slots__ = ("sections", "movement_type")
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    MOVEMENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    sections: _containers.RepeatedCompositeFieldContainer[TrafficLightSection]
    movement_type: int
    def __init__(self, sections: _Optional[_Iterable[_Union[TrafficLightSection, _Mapping]]] = ..., movement_type: _Optional[int] = ...) -> None: ...

class TrafficLightSections(_message.Message):
    __slots__ = ("sections",)
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    sections: _containers.RepeatedCompositeFieldContainer[TrafficLightSection]
    def __init__(self, sections: _Optional[_Iterable[_Union[TrafficLightSection, _Mapping]]] = ...) -> None: ...

class TrafficLightSection(_message.Message):
    __slots__ = ("id", "state")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    id: int
    state: TrafficLightState
    def __init__(self, id: _Optional[int] = ..., state: _Optional[_Union[TrafficLightState, str]] = ...) -> None: ...

class TrafficLightSectionIds(_message.Message):
    __slots__ = ("left_section_id", "main_section_id", "right_section_id")
    LEFT_SECTION_ID_FIELD_NUMBER: _ClassVar[int]
    MAIN_SECTION_ID_FIELD_NUMBER: _ClassVar[int]
    RIGHT_SECTION_ID_FIELD_NUMBER: _ClassVar[int]
    left_section_id: int
    main_section_id: int
    right_section_id: int
    def __init__(self, left_section_id: _Optional[int] = ..., main_section_id: _Optional[int] = ..., right_section_id: _Optional[int] = ...) -> None: ...

class SceneTags(_message.Message):
    __slots__ = ("day_time", "season", "track", "sun_phase", "precipitation")
    DAY_TIME_FIELD_NUMBER: _ClassVar[int]
    SEASON_FIELD_NUMBER: _ClassVar[int]
    TRACK_FIELD_NUMBER: _ClassVar[int]
    SUN_PHASE_FIELD_NUMBER: _ClassVar[int]
    PRECIPITATION_FIELD_NUMBER: _ClassVar[int]
    day_time: DayTime
    season: Season
    track: Location
    sun_phase: SunPhase
    precipitation: Precipitation
    def __init__(self, day_time: _Optional[_Union[DayTime, str]] = ..., season: _Optional[_Union[Season, str]] = ..., track: _Optional[_Union[Location, str]] = ..., sun_phase: _Optional[_Union[SunPhase, str]] = ..., precipitation: _Optional[_Union[Precipitation, str]] = ...) -> None: ...
