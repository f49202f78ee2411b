// The child process that opens an archive or a workbook, which `open-container.ts` starts.
import { readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fail } from '../../../foundation/faults/user-error.ts'
import { isWorkbook } from '../../records/index.ts'
import { serveOrder } from '../process/serve-order.ts'
import { describeTwo } from '../select-files.ts'
import { Containers } from '../unpack.ts'
import type { ContainerOrder, OpenedContainer } from './container-messages.ts'

serveOrder(open)

/** Reads what `mahi check` reads, by the same names. */
async function open({ path, definition, only, unpackedBytes }: ContainerOrder): Promise<OpenedContainer> {
  const isSheets = isWorkbook(path)
  const name = isSheets ? `${only ?? 'workbook'}.xlsx` : `${only ?? 'archive'}.zip`
  // Its own name decides how it is read, and is that in messages.
  const container = join(dirname(path), name)
  renameSync(path, container)
  const containers = new Containers({ unpackedBytes })
  const paths = await containers.openArchives([container])
  const named = only === undefined || isSheets ? [] : nameOnly(paths, only)
  const { files, unread, spare, notes } = await containers.select(paths, definition, named)
  const other = files.find(({ resource }) => resource !== only)
  if (only !== undefined && other !== undefined)
    fail({
      file: other.name,
      message: `is the file ${other.resource}, not ${only}: send an archive or a workbook of several files as a whole`,
    })
  // An upload replaces files, so that the surer name does not decide which of two is meant.
  for (const { name, resource, read } of spare) {
    const { title = resource } = definition.resources.find((each) => each.name === resource) ?? {}
    fail(describeTwo({ title }, read, name))
  }
  for (const { name, path } of files.flatMap((file) => ('path' in file ? [file] : []))) {
    const message = containers.faultOf(path)
    if (message !== undefined) fail({ file: name, message })
  }
  return {
    files: definition.resources.flatMap(({ name: resource }) =>
      files.flatMap((file) =>
        file.resource === resource && 'path' in file ? [{ resource, path: file.path, name: file.name }] : [],
      ),
    ),
    notes: [
      ...notes,
      ...unread.map(({ name, resource }) =>
        resource === undefined
          ? `${name} was not read: it is no file of the definition ${definition.name}.`
          : `${name} was not read. It looks like ${resource}: rename it, and send it again.`,
      ),
    ],
  }
}

/** The only file of an archive, whatever its name. A workbook in it is recognised by its own name, or its sheets. */
function nameOnly([folder = '']: readonly string[], only: string): string[] {
  const [name = '', ...others] = readdirSync(folder)
  return others.length === 0 && !/\.xls[xm]$/i.test(name) ? [`${only}=${join(folder, name)}`] : []
}
