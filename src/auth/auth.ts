// Users, passwords, tokens, login limits, and the log of security events. Knows no resource of the API but its own.

export { type Access, createAccess } from './access.ts'
export { accessApi } from './access-api.ts'
export type { Audit } from './audit.ts'
export { AuditEntry } from './audit-entry.ts'
export { startAuditRetention } from './audit-retention.ts'
export type { AuditPage } from './audit-routes.ts'
export { mayCall, NO_CALLS } from './call-right.ts'
export { ensureFirstUser } from './first-user.ts'
export {
  accountSession,
  adminGuard,
  guard,
  headerToken,
  ofOneAccount,
  operatorGuard,
  popGuard,
  popScopeGuard,
  requireSession,
  scopeGuard,
} from './guard.ts'
export {
  AuthUser,
  emailProblem,
  isAdmin,
  MIN_PASSWORD_CHARACTERS,
  NamedToken,
  normalEmail,
  TokenInfo,
  type UserType,
} from './model.ts'
export { OPERATOR_HEADER } from './operators.ts'
export { passwordProblem } from './password.ts'
export { accountProblem, type LoggedOut, type NewUser, type User, type UserWithLink } from './people-model.ts'
export type { AuthService } from './service.ts'
export type { Session } from './sessions.ts'
export { tokenRoutes } from './token-routes.ts'
export { createTokenService } from './token-service.ts'
export { userWithEmail } from './user-email.ts'
