import type * as types from '../../client/src/types.ts'
import { type Api, ApiProblem, type Complete, type Having } from './api.ts'
import { html, type VNode } from './html.ts'

/** A check from `/v1/rules`. */
export type Rule = Having<types.Rule, 'code' | 'severity' | 'file' | 'fields' | 'message'>

/** A check from `/v1/rules/{code}`, with what only some rules have. */
type RuleOfDefinition = Rule &
  Pick<types.RuleOfDefinition, 'sql'> & {
    readonly definition: Definition
    readonly examples?: readonly RuleExample[]
  }

export type RuleExample = Complete<types.RuleExample>

type Definition = Having<types.CatalogueDefinition, 'name' | 'version' | 'title' | 'files'>

export interface Catalogue {
  readonly definition: Definition
  readonly definitions: readonly string[]
  readonly rules: readonly Rule[]
  readonly byCode: ReadonlyMap<string, Rule>
}

/**
 * The rules of a definition, by default the first one of the service; `undefined` if it has no such definition.
 *
 * @throws {ApiProblem} if the user may not see them
 */
export async function readRules(api: Api, definition?: string): Promise<Catalogue | undefined> {
  const found = await unlessMissing(api.call<Omit<Catalogue, 'byCode'>>('/rules', { query: { definition } }))
  return found && { ...found, byCode: new Map(found.rules.map((rule) => [rule.code, rule])) }
}

/** A rule with its examples; `undefined` if there is none. */
export async function readRule(
  api: Api,
  definition: string,
  code: string,
): Promise<RuleOfDefinition | undefined> {
  return await unlessMissing(
    api.call<RuleOfDefinition>(`/rules/${encodeURIComponent(code)}`, { query: { definition } }),
  )
}

async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof ApiProblem && error.problem.status === 404) return undefined
    throw error
  }
}

/** The titles of the files of a definition, by their names, in its order. */
export const titlesOf = (rules: Pick<Catalogue, 'definition'> | undefined): ReadonlyMap<string, string> =>
  new Map(rules?.definition.files.map(({ file, title }) => [file, title]))

/** Files in the order of their definition. */
export function orderFiles<T extends { readonly file?: string }>(
  files: readonly T[],
  titles: ReadonlyMap<string, string>,
): T[] {
  const order = [...titles.keys()]
  return files.toSorted((one, other) => order.indexOf(one.file ?? '') - order.indexOf(other.file ?? ''))
}

/** A message without the values of a record, which stand in braces. */
export const summarise = (message: string): string => message.replace(/"?\{[A-Za-z_]\w*\}"?(\.$)?/g, '…')

export const ruleLink = (definition: string, code: string): string =>
  `/console/rules/${encodeURIComponent(definition)}/${encodeURIComponent(code)}`

/** The code of a rule, as a link to its page, with the number that the agency gave it. */
export const showRuleCode = (definition: string, { code, replaces }: Rule): VNode =>
  html`<a href=${ruleLink(definition, code)}>${code}</a>${replaces !== undefined && html`<br /><span class="soft">official ${replaces}</span>`}`

/** A code, as a link to its rule if that is known. */
export function showCode(rules: Catalogue | undefined, code: string): VNode | string {
  if (rules?.byCode.has(code) !== true) return code
  return html`<a href=${ruleLink(rules.definition.name, code)}>${code}</a>`
}
