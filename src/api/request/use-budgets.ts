import type { FastifyInstance } from 'fastify'
import type { Budgets } from '../../foundation/budget/budgets.ts'

declare module 'fastify' {
  interface FastifyInstance {
    budgets: Budgets
  }
}

/** Gives an app the budgets that its requests share. */
export function useBudgets(app: FastifyInstance, budgets: Budgets): void {
  app.decorate('budgets', budgets)
}
