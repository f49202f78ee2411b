/** Both themes at the width of a telephone, a tablet and a large window, in pixels. */
export const SCREENS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [320, 768, 1920].map((width) => ({
    name: `${colorScheme}, ${width} px`,
    colorScheme,
    viewport: { width, height: 800 },
  })),
)
