import type { FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'

/** Largest form without files, in bytes. */
const MAX_FORM = 1_000_000

const forms = new WeakMap<FastifyRequest, URLSearchParams>()

/** The fields of a form that was sent without files. */
export async function readForm(request: FastifyRequest): Promise<URLSearchParams> {
  const before = forms.get(request)
  if (before !== undefined) return before
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_FORM) {
      throw new Problem(
        'content-too-large',
        `The form is larger than ${MAX_FORM} bytes, the most that is allowed.`,
        {
          headers: { connection: 'close' },
        },
      )
    }
    chunks.push(chunk)
  }
  const form = new URLSearchParams(Buffer.concat(chunks).toString())
  forms.set(request, form)
  return form
}

/** Whether the request has the fields of a form without files. */
export function hasForm(request: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
}
