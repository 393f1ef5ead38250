// Numbers and times for people, in their language and zone.

/** Number with four significant digits, or more where it is whole. */
export function number(value, locale) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const large = Math.abs(value) >= 1e10 || (value !== 0 && Math.abs(value) < 1e-4);
  const options = large ? { notation: "scientific", maximumSignificantDigits: 4 } : { maximumSignificantDigits: Math.max(4, String(Math.trunc(Math.abs(value))).length) };
  return new Intl.NumberFormat(locale, options).format(value);
}

/** Number as a person types it: with a comma or a point, blanks allowed; NaN for anything else. */
export function typedNumber(text) {
  const plain = String(text).trim().replace(/[\s\u00a0\u202f]/g, "").replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : Number.NaN;
}

/** Duration in words, in one unit, from seconds. */
export function duration(seconds, t) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return t("time.seconds", { n: whole });
  if (whole < 3600) return t("time.minutes", { n: Math.round(whole / 60) });
  if (whole < 172_800) return t("time.hours", { n: Math.round(whole / 3600) });
  return t("time.days", { n: Math.round(whole / 86_400) });
}

/** Date and time of seconds since 1970, in the reviewer's zone. */
export function moment(seconds, locale) {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(seconds * 1000));
}
