import { type Hash, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../refusal.ts'

/** Yields content as it was sent, and hashes it. */
export async function* hashAll(
  content: AsyncIterable<Uint8Array>,
  hash: Hash | undefined,
): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    hash?.update(bytes)
    yield bytes
  }
}

/** @throws {Refusal} if content that was sent has another digest */
export function assertDigest(sent: Hash, expected: Uint8Array): void {
  const found = sent.digest()
  if (found.length !== expected.length || !timingSafeEqual(found, expected))
    throw new Refusal('invalid', 'Content-Digest does not match the content that arrived.')
}
