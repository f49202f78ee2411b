import type { FastifyRequest } from 'fastify'
import { readWhole } from '../http/body.ts'
import { Problem } from '../http/problems.ts'

/** The largest form without files, in bytes. */
const MAX_FORM = 1_000_000

/** The most fields of a form: a list of titles has one for each choice. */
const MAX_FIELDS = 5_000

const AMPERSAND = 38

const forms = new WeakMap<FastifyRequest, Promise<URLSearchParams>>()

/** Reads the fields of a form without files. */
export function readForm(request: FastifyRequest): Promise<URLSearchParams> {
  let form = forms.get(request)
  if (form === undefined) {
    form = read(request)
    forms.set(request, form)
  }
  return form
}

async function read(request: FastifyRequest): Promise<URLSearchParams> {
  const bytes = await readWhole(request.raw, MAX_FORM)
  if (hasMoreFields(bytes, MAX_FIELDS)) {
    throw new Problem(
      'content-too-large',
      `The form has more than ${MAX_FIELDS} fields, the most that are allowed.`,
    )
  }
  return new URLSearchParams(bytes.toString())
}

/** Counts fields before anything is decoded: a form of 1 MB can have a million. */
function hasMoreFields(bytes: Buffer, most: number): boolean {
  let count = 1
  for (let at = bytes.indexOf(AMPERSAND); at >= 0 && count <= most; at = bytes.indexOf(AMPERSAND, at + 1))
    count++
  return count > most
}

/** Whether the request is a form without files. */
export function hasForm(request: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
}
