import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Resource } from '../definition/definition.ts'
import type { FileFault } from './file-fault.ts'

/** Compares the bytes of a file with what its descriptor says about them; advises in each message. */
export async function findByteFaults(
  { path, bytes, hash }: Resource,
  file: { readonly path: string; readonly name: string; readonly bytes: number; readonly sha256: string },
): Promise<FileFault[]> {
  // A file in another form of the same name, such as with gzip, has other bytes.
  if (basename(path) !== basename(file.name)) return []
  const faults: FileFault[] = []
  if (bytes !== undefined && bytes !== file.bytes)
    faults.push({
      message: `The file has ${file.bytes} bytes, but the definition says that it has ${bytes}. ${advise('bytes')}`,
      group: 'bytes',
    })
  if (hash === undefined) return faults
  const digest = hash.algorithm === 'sha256' ? file.sha256 : await digestFile(file.path, hash.algorithm)
  if (digest !== hash.digest)
    faults.push({
      message: `The ${hash.algorithm} digest of the file is ${digest}, but the definition says ${hash.digest}. ${advise('hash')}`,
      group: 'hash',
    })
  return faults
}

function advise(property: string): string {
  return `Get the file again, or correct ${property} in the definition.`
}

async function digestFile(path: string, algorithm: string): Promise<string> {
  const hash = createHash(algorithm)
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
