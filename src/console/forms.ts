import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { readWhole } from '../api/request/body.ts'
import { Problem } from '../api/request/problems.ts'
import { Exhausted } from '../foundation/slots.ts'
import { formatNumber } from '../foundation/text/format-number.ts'

/** The largest form without files, in bytes. */
const MAX_FORM = 1_000_000

/** The most fields of a form: a list of titles has three for each title. */
const MAX_FIELDS = 10_000

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
  const bytes = await readWhole(request, MAX_FORM).catch(refuseCut)
  const text = bytes.toString()
  // A form of 1 MB can have a million fields: none is decoded if it has too many.
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS) {
    throw new Problem(
      'content-too-large',
      `The form has more than ${formatNumber(MAX_FIELDS)} fields, the most that are allowed.`,
    )
  }
  return new URLSearchParams(text)
}

/** A form that its sender has cut off is the sender's fault, and no failure of the page. */
function refuseCut(cause: unknown): never {
  if (cause instanceof Problem || cause instanceof Exhausted) throw cause
  throw new Problem('malformed-body', 'The form did not arrive completely. Send it again.', { cause })
}

/** Whether the request is a form without files. */
export function hasForm(request: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
}

const parts = new WeakMap<FastifyRequest, AsyncIterator<Multipart>>()

/** Reads the first part of a form with files; empty if it is another one than the named field. */
export async function readFirstField(request: FastifyRequest, name: string): Promise<string> {
  const { value: first } = await orMalformed(async () => {
    const iterator = request.parts()
    parts.set(request, iterator)
    return await iterator.next()
  })
  return first?.type === 'field' && first.fieldname === name ? String(first.value) : ''
}

/** The file of a form whose first field has been read, and the fields before it. */
export async function readUpload(
  request: FastifyRequest,
): Promise<{ readonly fields: ReadonlyMap<string, string>; readonly file: MultipartFile | undefined }> {
  const fields = new Map<string, string>()
  const iterator = parts.get(request)
  for (;;) {
    const { value, done } = (await orMalformed(async () => await iterator?.next())) ?? { done: true }
    if (done === true) return { fields, file: undefined }
    if (value.type === 'file') return { fields, file: value }
    fields.set(value.fieldname, String(value.value))
  }
}

/**
 * Reads a part of a form with files.
 *
 * @throws {Problem} `malformed-body` if the parser fails, whose errors are the client's: it ended, or its form does
 */
export async function orMalformed<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const detail = 'The form is not well-formed multipart/form-data, or has more than one file.'
    throw new Problem('malformed-body', detail, { headers: { connection: 'close' }, cause: error })
  }
}
