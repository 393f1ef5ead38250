"""Rendering of scenes as the released feature maps: 17 channels around an agent, x forward."""

from models.tasks.motion.inference.render.renderer import CHANNEL_NAMES, Renderer

__all__ = ["CHANNEL_NAMES", "Renderer"]
