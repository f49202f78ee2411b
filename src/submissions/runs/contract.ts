import { int32From1 } from '../../api/contract/fields.ts'
import { Type } from '../../foundation/schema/type.ts'
import { TOKEN_PATH } from '../contract.ts'
import type { Run } from '../findings/runs.ts'

export const RUN_PATH = Type.Object({
  ...TOKEN_PATH.properties,
  runId: int32From1('Number of the run within its submission.'),
})

export function locate({ token, number }: Run): string {
  return `/v1/submissions/${token}/validation-runs/${number}`
}

export const BASE = '/submissions/{submissionToken}/validation-runs'
