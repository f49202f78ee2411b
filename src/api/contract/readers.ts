import type { FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import { Type } from '../../foundation/schema/type.ts'
import { compileBody, readNoBody } from '../request/body.ts'
import { compileNamed, compileQuery, queryOf } from '../request/parameters.ts'
import { describeFaults, Problem, type ValueFault } from '../request/problems.ts'
import type { Operation } from './contract.ts'

/** Reads the parts of a request as the contract of its operation declares them. */
export interface Readers {
  path(request: FastifyRequest): { values: unknown; faults: readonly ValueFault[] }
  /** @throws {Problem} `invalid-parameters`, with all faults of the path, the query and the headers */
  others(
    request: FastifyRequest,
    pathFaults: readonly ValueFault[],
    authorized: unknown,
  ): { query: unknown; received: Readonly<Record<string, string>>; header: unknown }
  body(request: FastifyRequest): Promise<unknown>
}

const NOTHING = { values: {}, faults: [] }
const isFaultless = ({ faults }: { readonly faults: readonly ValueFault[] }) => faults.length === 0
const NO_QUERY = Type.Object({})

/** @throws {TypeError} with the name of the operation whose declaration has no reader */
export function compileReaders(operation: Operation): Readers {
  const { request: parameters = {}, path } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const declared = Object.keys(parameters.path?.properties ?? {})
  if (inPath.join() !== declared.join()) {
    throw new TypeError(
      `${operation.name}: the path has the parameters ${inPath.join(', ') || 'none'}, the declaration ${declared.join(', ') || 'none'}`,
    )
  }
  try {
    const derive = parameters.derive as ((values: unknown) => unknown) | undefined
    const readQuery = compileQuery<unknown>(parameters.query ?? NO_QUERY)
    const query = remember((text) => {
      const reading = readQuery(text)
      if (derive === undefined || reading.faults.length > 0) return { ...reading, derived: reading.values }
      return { ...reading, derived: derive(reading.values) }
      // Each fault has a sentence, and a short query can have a hundred.
    }, isFaultless)
    const readPath = parameters.path && compileNamed<unknown>(parameters.path)
    const readHeader =
      parameters.header && compileNamed<unknown>(parameters.header, (name) => name.toLowerCase())
    const readBody = parameters.body && compileBody(parameters.body, operation.bodyFaultMembers)
    return {
      path(request) {
        if (inPath.length === 0) return NOTHING
        const given = request.params as Record<string, string>
        const { values, faults } = readPath?.(given) ?? NOTHING
        return { values: { ...given, ...(values as object) }, faults }
      },
      others(request, pathFaults, authorized) {
        const { derived, faults: queryFaults, received } = query(queryOf(request.url))
        const header = readHeader?.(request.headers) ?? NOTHING
        if (pathFaults.length + queryFaults.length + header.faults.length > 0) {
          const faults = [...pathFaults, ...queryFaults, ...header.faults]
          const [detail, { members }] = describeFaults(faults)
          const own = operation.parameterFaultMembers?.(members, { authorized, received })
          throw new Problem('invalid-parameters', detail, { members: own ?? members })
        }
        return { query: derived, received, header: header.values }
      },
      async body(request) {
        if (readBody !== undefined) return await readBody(request)
        return operation.method === 'GET' ? undefined : await readNoBody(request)
      },
    }
  } catch (error) {
    throw new TypeError(`${operation.name}: ${(error as Error).message}`, { cause: error })
  }
}
