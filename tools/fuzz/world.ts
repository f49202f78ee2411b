import type { Data } from './data.ts'
import { OPERATIONS } from './operations.ts'
import type { Random } from './random.ts'
import { plainRequest, type Request } from './request.ts'

/** What the maker of a request knows. */
export interface World {
  readonly data: Data
  /** The ETag of each operation's first page, by its id. */
  readonly etags: ReadonlyMap<string, string>
}

export type Change = (request: Request, random: Random, world: World) => void

/** A request of an operation with which nothing is wrong yet. */
export function begin(random: Random, { data }: World): Request {
  const request = plainRequest(random.pick(OPERATIONS), data)
  const { operation } = request
  if (operation?.parameters.some((parameter) => parameter.in === 'path')) {
    request.token = random.pick(['fuzz-none', 'fuzz-few', 'fuzz-few', 'fuzz-many', 'fuzz-many'])
    place(request, operation.path.replace('{submissionToken}', request.token))
  }
  return request
}

export function place(request: Request, address: string): void {
  request.target = address
  request.routed = address
}
