import { plugin } from 'bun'
import typescript from 'typescript-5'

// Preloaded by tools that need the programming interface of TypeScript 5, which version 7 does not have.
await plugin({
  name: 'typescript-5',
  setup: (build) => void build.module('typescript', () => ({ exports: { default: typescript }, loader: 'object' })),
})
