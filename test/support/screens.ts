/** Both themes at the width of a telephone, a tablet and a large window, in pixels. */
export const SCREENS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [320, 768, 1920].map((width) => ({
    name: `${colorScheme}, ${width} px`,
    colorScheme,
    viewport: { width, height: 800 },
  })),
)

export type Screen = (typeof SCREENS)[number]

/** The narrowest and the widest, for journeys over many pages: a single page is tested on all screens. */
export const JOURNEY_SCREENS = SCREENS.filter(
  ({ name }) => name === 'light, 320 px' || name === 'dark, 1920 px',
)
