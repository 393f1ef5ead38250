"""Ship particulars and hydrostatics: volume and shape of the displaced water at given drafts.

The ship is invented: a container carrier of the 300 m class, sized so that its shaft power matches the
public summary of the measured ship. No lines plan exists; the hydrostatic table is replaced by closed
forms that agree with each other (the waterplane is the derivative of the volume).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulators.vessel.units import Floats

ShipType = Literal["slender", "bulky"]


@dataclass(frozen=True, slots=True)
class Form:
    """Wetted hull at one or many loading conditions. Every field is a float or an array [N]."""

    length: Floats | float
    """Length on the waterline, m."""
    beam: Floats | float
    """Moulded breadth, m."""
    draft: Floats | float
    """Mean draft, m."""
    draft_fore: Floats | float
    """Draft at the forward perpendicular, m."""
    draft_aft: Floats | float
    """Draft at the aft perpendicular, m."""
    volume: Floats | float
    """Displaced volume, m3."""
    lcb: Floats | float
    """Centre of buoyancy forward of L/2, per cent of L (aft is negative)."""
    midship_coefficient: Floats | float
    """Midship coefficient C_M: midship section area over beam times draft."""
    waterplane_coefficient: Floats | float
    """Waterplane coefficient C_WP: waterplane area over length times beam."""
    bulb_area: Floats | float
    """Transverse area A_BT of the bulb at the place where the still-water line cuts the stem, m2."""
    bulb_height: Floats | float
    """Height h_B of the centre of A_BT above the keel line, m."""
    transom_area: Floats | float
    """Immersed transom area A_T at rest, m2."""
    appendage_area: Floats | float
    """Wetted surface S_APP of the appendages, m2."""
    appendage_factor: float
    """Appendage factor (1 + k2)eq."""
    stern: float
    """Stern shape C_stern: -25 barge, -10 V-shaped, 0 normal, +10 U-shaped with Hogner stern."""

    @property
    def block_coefficient(self) -> Floats | float:
        """Block coefficient C_B on the waterline length."""
        return self.volume / (self.length * self.beam * self.draft)

    @property
    def prismatic_coefficient(self) -> Floats | float:
        """Prismatic coefficient C_P on the waterline length."""
        return self.block_coefficient / self.midship_coefficient


@dataclass(frozen=True, slots=True)
class Hull:
    """Particulars of the simulated ship. Lengths in m, areas in m2."""

    ship_type: ShipType = "slender"
    """Hull type, which selects the calm-water method."""
    length_overall: float = 306.0
    length_perpendiculars: float = 292.0
    beam: float = 46.0
    depth: float = 24.6
    """Distance from the keel to the upper deck at side."""
    draft_design: float = 14.5
    """Draft to which the coefficients below belong."""
    block_design: float = 0.670
    """C_B on the length between perpendiculars at the design draft."""
    waterplane_design: float = 0.750
    """C_WP on the length between perpendiculars at the design draft."""
    midship_design: float = 0.985
    """C_M at the design draft; the missing bilge area is the same at every draft."""
    lcb_design: float = -2.0
    """Centre of buoyancy at the design draft on even keel, per cent of L forward of L/2."""
    lcb_slope: float = 0.35
    """Forward movement of the centre of buoyancy per metre less draft, per cent of L per m."""
    flotation: float = -0.035
    """Centre of flotation forward of L/2 as a share of L (aft is negative)."""
    deadweight_max: float = 100_000.0
    """Deadweight at the scantling draft, t."""
    bulb_area: float = 34.0
    bulb_height: float = 4.0
    bulb_top: float = 8.5
    """Fore draft from which the bulb is fully covered, m."""
    transom_height: float = 13.2
    """Lower edge of the transom above the keel, m."""
    transom_breadth: float = 26.0
    appendage_area: float = 200.0
    """Wetted surface of the rudder (both sides) and the bilge keels."""
    appendage_factor: float = 1.5
    stern: float = 10.0
    house_height: float = 34.0
    """Top of the deck house above the upper deck, m."""
    container_height: float = 13.0
    """Mean height of the deck cargo above the upper deck, m."""
    container_share: float = 0.72
    """Share of the deck length that carries cargo."""
    house_length: float = 16.0

    def form(self, draft_aft: Floats, draft_fore: Floats) -> Form:
        """Return the hydrostatics at the given drafts [N] in m.

        Volume follows V = V_d (T/T_d)^e with e = C_WP/C_B at design, so that the waterplane L B C_WP is
        exactly dV/dT. Trim turns the ship about its centre of flotation and moves the centre of buoyancy by
        the longitudinal metacentric radius (I_L = 0.0735 C_WP^2 L^3 B, an estimate) times the angle; the
        result is held within 6 per cent of L so that it stays near the range of the regression of Holtrop and
        Mennen, which was fitted on 5. Drafts below 2 m are taken as 2 m.
        """
        aft = np.maximum(np.asarray(draft_aft, np.float64), 2.0)
        fore = np.maximum(np.asarray(draft_fore, np.float64), 2.0)
        trim = aft - fore
        lpp, beam = self.length_perpendiculars, self.beam
        draft = 0.5 * (aft + fore) - trim * self.flotation
        ratio = draft / self.draft_design
        exponent = self.waterplane_design / self.block_design
        volume = lpp * beam * self.draft_design * self.block_design * ratio**exponent
        waterplane = exponent * volume / (lpp * beam * draft)
        inertia = 0.0735 * waterplane**2 * lpp**3 * beam
        shift = inertia / volume * trim / lpp**2 * 100.0
        lcb = np.clip(self.lcb_design + self.lcb_slope * (self.draft_design - draft) - shift, -6.0, 6.0)
        length = lpp * (0.985 + 0.025 * np.minimum(ratio, 1.1))
        covered = np.clip(fore / self.bulb_top, 0.0, 1.0)
        immersion = np.maximum(aft - self.transom_height, 0.0)
        return Form(
            length=length,
            beam=beam,
            draft=draft,
            draft_fore=fore,
            draft_aft=aft,
            volume=volume,
            lcb=lcb,
            midship_coefficient=1.0 - (1.0 - self.midship_design) / ratio,
            waterplane_coefficient=waterplane * lpp / length,
            bulb_area=self.bulb_area * covered**2,
            bulb_height=np.minimum(self.bulb_height, 0.45 * fore),
            transom_area=0.6 * self.transom_breadth * immersion,
            appendage_area=self.appendage_area,
            appendage_factor=self.appendage_factor,
            stern=self.stern,
        )
