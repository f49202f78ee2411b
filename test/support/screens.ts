import { engine } from './temporary.ts'

/** Both themes at the width of a telephone, a tablet and a large window, in pixels. */
export const SCREENS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [320, 768, 1920].map((width) => ({
    name: `${colorScheme}, ${width} px`,
    colorScheme,
    viewport: { width, height: 800 },
  })),
)

/** Each engine tests the journeys on half of the screens, because what a page looks like does not depend on it. */
export const JOURNEY_SCREENS = SCREENS.filter((_, index) => (index % 2 === 0) === (engine === 'sqlite'))
