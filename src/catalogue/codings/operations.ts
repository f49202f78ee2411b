import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { describeFaults, type ValueFault } from '../../api/request/problems.ts'
import { VERSIONS } from '../../api/request/versions.ts'
import type { Database } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { describeMissing, findMissingCodes } from '../records/missing-codes.ts'
import {
  keyOfTitle,
  listTitles,
  readById,
  readTitles,
  storeDecisions,
  TooManyDecisions,
  withdraw,
} from './decisions.ts'
import { renderTitles } from './render-titles.ts'
import { decisionsBody, EXAMPLE_REVIEWED, listQuery, ReviewedCodingPage, ReviewedCodings } from './schema.ts'
import { findTitleFault } from './titles.ts'

const PATH = '/confirmed-codings'

/** What reviewers have decided about job titles. */
export function reviewOperations(database: Database): readonly Operation[] {
  const operation = operationsOf({
    tag: 'Occupations',
    access: withScope('codings:confirm'),
    limit: 'codings',
  })
  return [
    operation({
      name: 'confirm-codings',
      id: 'confirmCodings',
      summary: 'Confirm codings',
      description:
        'Stores what a reviewer has decided about job titles: the code, or that none is known. A decision replaces the earlier one of the same client, never that of another: if they disagree, the title is `disputed`. Confirmed titles become names of the search at the next revision of the catalogue.',
      method: 'POST',
      path: PATH,
      request: { body: { json: decisionsBody, maxBytes: 2 ** 20, check: findTitleFaults } },
      responses: {
        200: describeDocument(ReviewedCodings, 'The titles of the request, in its order.', {
          items: [EXAMPLE_REVIEWED],
        }),
      },
      problems: {
        'invalid-body': 'The body has a field that is wrong, too many items, or a title twice.',
        'unprocessable-content':
          'The catalogue does not have a code, or there are too many titles. Nothing was stored.',
      },
    }).handle(async ({ body: { items }, principal, refuse }) => {
      const decisions = items.map(({ title, language, occupationCode }) => ({
        title,
        language,
        code: occupationCode,
      }))
      const reviewed = await database.write('codings', async (writer) => {
        const missing = await findMissingCodes(
          writer,
          decisions.flatMap(({ code }) => code ?? []),
        )
        const unknown = decisions.flatMap(({ code }, index) => {
          const found = missing.get(code ?? '')
          if (found === undefined) return []
          return [{ name: `items[${index}].occupationCode`, message: describeMissing(found) }]
        })
        if (unknown.length > 0) {
          const [detail, named] = describeFaults(unknown)
          refuse('unprocessable-content', `${detail} Nothing was stored.`, named)
        }
        await storeDecisions(writer, principal?.client ?? '', decisions).catch((error: unknown) => {
          if (!(error instanceof TooManyDecisions)) throw error
          return refuse('unprocessable-content', `${error.message}. Nothing was stored.`)
        })
        const titles = items.map(({ title }) => title)
        return await renderTitles(writer, await readTitles(writer, titles))
      })
      return document({ items: reviewed })
    }),
    operation({
      name: 'confirmed-codings',
      id: 'listConfirmedCodings',
      summary: 'List confirmed codings',
      description: 'The job titles that reviewers have decided about, in alphabetical order.',
      method: 'GET',
      path: PATH,
      request: { query: listQuery },
      responses: {
        200: describeDocument(
          ReviewedCodingPage,
          'A page of titles.',
          { items: [EXAMPLE_REVIEWED], resultsCount: 1 },
          NEXT_LINK,
        ),
      },
    }).handle(async ({ query: { Limit: limit, Cursor: from, 'Filter.State': state } }) => {
      const found = await listTitles(database, { limit: limit + 1, from, state })
      const items = await renderTitles(database, found.slice(0, limit))
      const next = found[limit]
      const page = { items, resultsCount: items.length }
      if (next === undefined) return document(page)
      const query = new URLSearchParams({
        Limit: String(limit),
        ...(state !== undefined && { 'Filter.State': state }),
        Cursor: next.key,
      })
      const link = `<${VERSIONS[0].prefix}${PATH}?${query}>; rel="next"`
      return document({ nextCursor: next.key, ...page }, { link })
    }),
    operation({
      name: 'withdraw-coding',
      id: 'withdrawCoding',
      summary: 'Withdraw a decision',
      description: "Withdraws the client's own decision about a job title. Those of other reviewers stay.",
      method: 'DELETE',
      path: `${PATH}/{id}`,
      request: {
        path: Type.Object({ id: Type.String({ description: 'The ID of the title.', maxLength: 64 }) }),
      },
      responses: {
        200: describeDocument(ReviewedCodings, 'The title, if other reviewers have decided about it.', {
          items: [EXAMPLE_REVIEWED],
        }),
      },
      problems: { 'no-such-decision': 'The client has decided nothing about this title.' },
    }).handle(async ({ path: { id }, principal, refuse }) => {
      const left = await database.write('codings', async (writer) => {
        const count = await withdraw(writer, principal?.client ?? '', id)
        return count === 0 ? undefined : await renderTitles(writer, await readById(writer, id))
      })
      if (left === undefined)
        return refuse(
          'no-such-decision',
          'The client of this key has no decision about a title with this ID. Nothing was changed.',
        )
      return document({ items: left })
    }),
  ]
}

/** Titles that cannot be stored, and those that are in the request twice. */
function findTitleFaults({ items = [] }: Partial<Static<typeof decisionsBody>>): ValueFault[] {
  const places = new Map<string, number>()
  return items.flatMap(({ title }, index) => {
    const key = keyOfTitle(title)
    const first = places.get(key)
    if (first === undefined) places.set(key, index)
    const again = `is the title of items[${first}] again. Send one decision for each title`
    const message = findTitleFault(title) ?? (first === undefined ? undefined : again)
    return message === undefined ? [] : [{ name: `items[${index}].title`, message }]
  })
}
