import { formatNumber } from '../foundation/text/format-number.ts'
import { html, type VNode } from './html.ts'
import type { Pay } from './records.ts'
import { Table } from './table.ts'

export const money = (amount: number): string => `$${formatNumber(Math.round(amount))}`

/** The ends of an axis for all amounts, rounded to tens of thousands. */
export function payScale(pays: readonly (Pay | undefined)[]): readonly [number, number] {
  const amounts = pays.flatMap((pay) => Object.values(pay ?? {}) as number[])
  if (amounts.length === 0) return [0, 100_000]
  const step = 10_000
  return [Math.floor(Math.min(...amounts) / step) * step, Math.ceil(Math.max(...amounts) / step) * step]
}

/** The text alternative of the chart for screen readers. */
export function payText({ payLowerBound, payMidLowerBound, payMidUpperBound, payUpperBound }: Pay): string {
  const parts = [
    ...(payMidLowerBound !== undefined && payMidUpperBound !== undefined
      ? [`half earn between ${money(payMidLowerBound)} and ${money(payMidUpperBound)} a year`]
      : []),
    ...(payLowerBound !== undefined ? [`one in ten earns less than ${money(payLowerBound)}`] : []),
    ...(payUpperBound !== undefined ? [`one in ten earns more than ${money(payUpperBound)}`] : []),
  ]
  const [first = 'no pay is known', ...rest] = parts
  return `${first[0]?.toUpperCase()}${first.slice(1)}${rest.length > 0 ? `; ${rest.join('; ')}` : ''}.`
}

const WIDTH = 352
const MARGIN = 4

/**
 * Draws the pay of an occupation: a line from the 10th to the 90th percentile and a bar from the 25th to the 75th.
 *
 * @param group the range of its group, drawn in the background
 */
export function payChart(pay: Pay, [from, to]: readonly [number, number], group?: Pay): VNode {
  const x = (amount: number) => MARGIN + ((amount - from) / Math.max(1, to - from)) * (WIDTH - 2 * MARGIN)
  const { payLowerBound: p10, payMidLowerBound: p25, payMidUpperBound: p75, payUpperBound: p90 } = pay
  const span = (
    left: number | undefined,
    right: number | undefined,
    y: number,
    height: number,
    name: string,
  ) =>
    left !== undefined &&
    right !== undefined &&
    html`<rect class=${name} x=${x(left)} y=${y} width=${Math.max(1, x(right) - x(left))} height=${height} />`
  return html`<svg class="pay" viewBox=${`0 0 ${WIDTH} 34`} role="img" aria-label=${payText(pay)}>
    ${group !== undefined && span(group.payLowerBound, group.payUpperBound, 2, 18, 'group')}
    <line class="axis" x1=${MARGIN} x2=${WIDTH - MARGIN} y1="21" y2="21" />
    ${p10 !== undefined && p90 !== undefined && html`<line class="whisker" x1=${x(p10)} x2=${x(p90)} y1="11" y2="11" />`}
    ${span(p25, p75, 6, 10, 'box')}
    <text x=${MARGIN} y="32">${money(from)}</text>
    <text x=${WIDTH - MARGIN} y="32" text-anchor="end">${money(to)}</text>
  </svg>`
}

const BANDS = ['From', 'To below', { name: 'Occupations', number: true }]
const PERCENTILES = [
  'Occupation',
  ...['10th', '25th', '75th', '90th'].map((name) => ({ name, number: true })),
]

/** The same amounts as a table. */
export function payTable(rows: readonly { readonly name: string; readonly pay: Pay | undefined }[]): VNode {
  const cell = (amount: number | undefined) =>
    html`<td class="number">${amount === undefined ? 'not known' : money(amount)}</td>`
  return html`<${Table} class="cards" label="Annual pay" caption="Annual pay by percentile" columns=${PERCENTILES}>
    ${rows.map(({ name, pay = {} }) => {
      const amounts = [pay.payLowerBound, pay.payMidLowerBound, pay.payMidUpperBound, pay.payUpperBound]
      return html`<tr><th scope="row">${name}</th>${amounts.map(cell)}</tr>`
    })}
  <//>`
}

/** The occupations whose typical pay lies in a band: from `from` to below `to`. */
export interface PayBand {
  readonly from: number
  readonly to: number
  readonly occupations: number
}

const BAND = 10_000
const MOST_BANDS = 16

/** Counts occupations by typical pay, the middle between the 25th and the 75th percentile. */
export function payBands(pays: readonly Pay[]): PayBand[] {
  const typical = pays.flatMap(({ payMidLowerBound: p25, payMidUpperBound: p75 }) =>
    p25 === undefined || p75 === undefined ? [] : [(p25 + p75) / 2],
  )
  if (typical.length === 0) return []
  const [least, most] = [Math.min(...typical), Math.max(...typical)]
  const width = BAND * Math.max(1, Math.ceil((most - least) / BAND / MOST_BANDS))
  const first = Math.floor(least / width) * width
  const bands = Array.from({ length: Math.floor((most - first) / width) + 1 }, () => 0)
  for (const amount of typical) {
    const band = Math.floor((amount - first) / width)
    bands[band] = (bands[band] ?? 0) + 1
  }
  return bands.map((occupations, band) => ({
    from: first + band * width,
    to: first + (band + 1) * width,
    occupations,
  }))
}

/** Draws the bands as columns, with the same numbers as a table below. */
export function payDistribution(bands: readonly PayBand[], group: string): VNode {
  const most = Math.max(...bands.map(({ occupations }) => occupations))
  const total = bands.reduce((sum, { occupations }) => sum + occupations, 0)
  const [first, last] = [bands[0], bands.at(-1)]
  const peak = bands.find(({ occupations }) => occupations === most)
  const step = (WIDTH - 2 * MARGIN) / bands.length
  const height = 60
  const label = `Typical pay of ${total} occupations in ${group}: from ${money(first?.from ?? 0)} to ${money(last?.to ?? 0)} a year, most often ${money(peak?.from ?? 0)} to ${money(peak?.to ?? 0)}.`
  return html`<figure class="distribution">
    <svg class="pay" viewBox=${`0 0 ${WIDTH} ${height + 16}`} role="img" aria-label=${label}>
      ${bands.map(({ occupations }, index) => {
        const tall = (occupations / most) * (height - 4)
        return html`<rect class="box" x=${MARGIN + index * step + 1} y=${height - tall} width=${Math.max(1, step - 2)} height=${tall} />`
      })}
      <line class="axis" x1=${MARGIN} x2=${WIDTH - MARGIN} y1=${height} y2=${height} />
      <text x=${MARGIN} y=${height + 13}>${money(first?.from ?? 0)}</text>
      <text x=${WIDTH - MARGIN} y=${height + 13} text-anchor="end">${money(last?.to ?? 0)}</text>
    </svg>
    <figcaption>${label} <span class="soft">Typical pay is the middle between the 25th and the 75th percentile.</span></figcaption>
    <details>
      <summary>Distribution as a table</summary>
      <${Table} label="Distribution" caption="Occupations by typical annual pay" columns=${BANDS}>
        ${bands.map(
          ({ from, to, occupations }) =>
            html`<tr><td>${money(from)}</td><td>${money(to)}</td><td class="number">${occupations}</td></tr>`,
        )}
      <//>
    </details>
  </figure>`
}
