import type { Route } from '../context.ts'

export const findingsPages: readonly Route[] = []
