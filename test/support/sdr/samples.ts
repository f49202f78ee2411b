import { renderAsExported } from './as-exported.ts'
import { SAMPLE } from './clean.ts'
import { SDR_FILES } from './file-types.ts'
import { makeTables, renderTable } from './small.ts'

/** The generated samples in the repository, by folder of `samples/sdr`: the contents of their files by name. */
export function renderSamples(): Record<'clean' | 'as-exported', Record<string, string | Buffer>> {
  const tables = makeTables(SAMPLE)
  const clean = Object.fromEntries(SDR_FILES.map((name) => [`${name}.csv`, renderTable(name, tables[name])]))
  return { clean, 'as-exported': renderAsExported() }
}
