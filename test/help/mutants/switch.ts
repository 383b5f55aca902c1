/**
 * The switch between mutants, which are all in the instrumented sources at once: `isMutant(7)` is true while mutant 7 is
 * active. It is preloaded, since modules evaluate their constants when they are loaded.
 */
type Switch = { active: number; reached: Set<number> }

export const SWITCH: Switch = { active: Number(process.env.MUTANT ?? 0), reached: new Set() }

Object.assign(globalThis, {
  isMutant(id: number): boolean {
    SWITCH.reached.add(id)
    return id === SWITCH.active
  },
})
