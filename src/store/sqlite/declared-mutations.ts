import { GROUPS } from '../sql/groups.ts'
import { mutationsOf } from './engine/run-operations.ts'

/** The mutations of the operations that both engines share. */
export const DECLARED_MUTATIONS = Object.entries(GROUPS).flatMap(([group, declarations]) =>
  mutationsOf(group, declarations),
)
