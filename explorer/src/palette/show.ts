/** Overlay is what a key opens on every screen. */
export type Overlay = 'palette' | 'keys'

export const overlayEvent = 'atlas-overlay'

/** show opens the palette, or the list of keys. */
export const show = (what: Overlay) => dispatchEvent(new CustomEvent(overlayEvent, { detail: what }))
