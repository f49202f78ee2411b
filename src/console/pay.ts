import { formatNumber } from '../foundation/text/format-number.ts'
import type { Api } from './api.ts'
import { html, type VNode } from './html.ts'
import type { Pay } from './records.ts'
import { listRevisions } from './revisions.ts'
import { type Column, table } from './table.ts'

/** How amounts are shown. */
export interface Amounts {
  /** Their currency, year and country, such as `USD 2023, United States`, if the import stated them. */
  readonly basis: string | undefined
  /** An amount with the sign of the currency, or without one where none is known. */
  readonly show: (amount: number) => string
}

/** Reads what the amounts of the catalogue are. */
export async function readAmounts(api: Api): Promise<Amounts> {
  const { revisions } = await listRevisions(api, 1)
  const basis = revisions[0]?.payBasis
  if (basis === undefined) return { basis, show: (amount) => formatNumber(Math.round(amount)) }
  const format = new Intl.NumberFormat('en-NZ', {
    style: 'currency',
    currency: basis.slice(0, 3),
    maximumFractionDigits: 0,
  })
  return { basis, show: (amount) => format.format(amount) }
}

/** Says what the amounts are. */
export const describeBasis = ({ basis }: Amounts): string =>
  basis === undefined
    ? 'The import did not state the currency, year and country of the amounts.'
    : `The amounts are in ${basis}.`

/** What the charts of a list show; nothing if it has none. */
export const showScale = (pays: readonly (Pay | undefined)[], amounts: Amounts): VNode | false =>
  pays.some((pay) => pay !== undefined) &&
  html`<p class="soft">The charts show pay a year on one scale. ${describeBasis(amounts)}</p>`

/** The ends of an axis for all amounts, rounded to tens of thousands. */
export function payScale(pays: readonly (Pay | undefined)[]): readonly [number, number] {
  const amounts = pays.flatMap((pay) => Object.values(pay ?? {}) as number[])
  if (amounts.length === 0) return [0, 100_000]
  const step = 10_000
  return [Math.floor(Math.min(...amounts) / step) * step, Math.ceil(Math.max(...amounts) / step) * step]
}

/** The text alternative of the chart for screen readers. */
export function payText(
  { payLowerBound, payMidLowerBound, payMidUpperBound, payUpperBound }: Pay,
  { show }: Amounts,
): string {
  const parts = [
    ...(payMidLowerBound !== undefined && payMidUpperBound !== undefined
      ? [`half earn between ${show(payMidLowerBound)} and ${show(payMidUpperBound)} a year`]
      : []),
    ...(payLowerBound !== undefined ? [`one in ten earns less than ${show(payLowerBound)}`] : []),
    ...(payUpperBound !== undefined ? [`one in ten earns more than ${show(payUpperBound)}`] : []),
  ]
  const [first = 'no pay is known', ...rest] = parts
  return `${first[0]?.toUpperCase()}${first.slice(1)}${rest.length > 0 ? `; ${rest.join('; ')}` : ''}.`
}

const WIDTH = 352

/**
 * Draws the pay of an occupation: a line from the 10th to the 90th percentile and a bar from the 25th to the 75th.
 *
 * @param group the range of its group, drawn in the background
 */
export function payChart(
  pay: Pay,
  [from, to]: readonly [number, number],
  amounts: Amounts,
  group?: Pay,
): VNode {
  const x = (amount: number) => ((amount - from) / Math.max(1, to - from)) * WIDTH
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
  return html`<div class="pay" role="img" aria-label=${payText(pay, amounts)}>
    <svg viewBox=${`0 0 ${WIDTH} 22`} preserveAspectRatio="none" aria-hidden="true">
      ${group !== undefined && span(group.payLowerBound, group.payUpperBound, 2, 18, 'group')}
      <line class="axis" x2=${WIDTH} y1="21" y2="21" />
      ${p10 !== undefined && p90 !== undefined && html`<line class="whisker" x1=${x(p10)} x2=${x(p90)} y1="11" y2="11" />`}
      ${span(p25, p75, 6, 10, 'box')}
    </svg>
    <span>${amounts.show(from)}</span><span>${amounts.show(to)}</span>
  </div>`
}

/** The same amounts as a table. */
export function payTable(
  rows: readonly { readonly name: string; readonly pay: Pay | undefined }[],
  { basis, show }: Amounts,
): VNode {
  const percentile = (name: string, field: keyof Pay): Column<(typeof rows)[number]> => [
    name,
    ({ pay }) => (pay?.[field] === undefined ? 'not known' : show(pay[field])),
    'number',
  ]
  const caption = `Annual pay by percentile${basis === undefined ? '' : `, ${basis}`}`
  return table(
    'Annual pay',
    rows,
    [
      ['Occupation', ({ name }) => name],
      percentile('10th', 'payLowerBound'),
      percentile('25th', 'payMidLowerBound'),
      percentile('75th', 'payMidUpperBound'),
      percentile('90th', 'payUpperBound'),
    ],
    { caption },
  )
}
