/** Starts the thread that renders templates. The thread is an entry point of the executable. */
export const startTemplateThread = (): Worker =>
  new Worker(new URL('./template-thread.ts', import.meta.url).href, { smol: true })
