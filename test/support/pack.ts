import { zip } from '@cj-tech-master/excelts/archive'

/** A ZIP archive with these files. */
export async function pack(files: Readonly<Record<string, string | Uint8Array>>): Promise<Uint8Array> {
  const archive = zip()
  for (const [path, content] of Object.entries(files)) archive.add(path, content)
  return await archive.bytes()
}
