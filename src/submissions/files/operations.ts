import type { Operation } from '../../api/contract/contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { addRecords, deleteRecords } from './change-records.ts'
import { getFile } from './get-file.ts'
import { getFileJob } from './get-job.ts'
import { getCorrectedFiles, getMarkedFiles } from './get-returned-files.ts'
import { putFile } from './put-file.ts'
import { putFiles } from './put-files.ts'
import { getRepairs, repairFiles, undoRepairs } from './repairs.ts'

export function fileOperations(options: SubmissionOptions): readonly Operation[] {
  return [
    putFiles(options),
    putFile(options),
    getFile(options),
    getMarkedFiles(options),
    getCorrectedFiles(options),
    getRepairs(options),
    repairFiles(options),
    undoRepairs(options),
    getFileJob(options),
    addRecords(options),
    deleteRecords(options),
  ]
}
