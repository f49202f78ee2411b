import { formatNumber } from '../foundation/text/format-number.ts'
import { html, type VNode } from './html.ts'

/** The counts of a finished check. */
interface Check {
  readonly runId: number
  readonly errorCount?: number | undefined
  readonly warningCount?: number | undefined
}

/** The most checks that are shown, the newest. */
const MOST = 12

/** In pixels: at most 120 in all. */
const HEIGHT = 84
const TOP = 14
const LEFT = 62
const STEP = 40
const BAR = 12

/**
 * Errors and warnings of each check, side by side on one scale.
 *
 * @param runs oldest first
 */
export function showRunChart(runs: readonly Check[]): VNode {
  const shown = runs.slice(-MOST)
  const most = Math.max(
    1,
    ...shown.flatMap(({ errorCount = 0, warningCount = 0 }) => [errorCount, warningCount]),
  )
  const top = roundUp(most)
  const width = LEFT + Math.max(4, shown.length) * STEP
  const y = (number: number) => TOP + HEIGHT - (number / top) * HEIGHT
  const ticks = top === 1 ? [0, 1] : [0, top / 2, top]
  const described = shown
    .map(
      ({ runId, errorCount = 0, warningCount = 0 }) =>
        `check ${runId}: ${formatNumber(errorCount)} and ${formatNumber(warningCount)}`,
    )
    .join('; ')
  return html`<figure class="run-chart">
    <figcaption>
      <span><svg width="10" height="10" aria-hidden="true"><rect class="error" width="10" height="10" /></svg> Errors</span>
      <span><svg width="10" height="10" aria-hidden="true"><rect class="warning" width="10" height="10" /></svg> Warnings</span>
    </figcaption>
    <svg class="chart" viewBox=${`0 0 ${width} 118`} width=${width} height="118" role="img"
      aria-label=${`Errors and warnings of each check: ${described}`}>
      ${ticks.map(
        (tick) => html`<line class="axis" x1=${LEFT - 6} x2=${width} y1=${y(tick)} y2=${y(tick)} />
          <text x=${LEFT - 10} y=${y(tick) + 4} text-anchor="end">${formatNumber(tick)}</text>`,
      )}
      ${shown.map(({ runId, errorCount = 0, warningCount = 0 }, index) => {
        const x = LEFT + index * STEP + 4
        return html`<rect class="error" x=${x} width=${BAR} y=${y(errorCount)} height=${TOP + HEIGHT - y(errorCount)} />
          <rect class="warning" x=${x + BAR + 2} width=${BAR} y=${y(warningCount)} height=${TOP + HEIGHT - y(warningCount)} />
          <text x=${x + BAR + 1} y=${TOP + HEIGHT + 16} text-anchor="middle">${runId}</text>`
      })}
    </svg>
  </figure>`
}

/** The next number that is 1, 2, 4, 6, 8 or 10 times a power of ten. Its half is whole too, unless it is 1. */
function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  return ([1, 2, 4, 6, 8].find((factor) => factor * power >= number) ?? 10) * power
}
