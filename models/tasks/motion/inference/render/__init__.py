"""Rendering of scenes as the released feature maps: 17 channels around an agent, x forward."""

from models.tasks.motion.inference.grid import CHANNEL_NAMES
from models.tasks.motion.inference.render.renderer import Renderer

__all__ = ["CHANNEL_NAMES", "Renderer"]
