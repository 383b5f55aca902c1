/** Starts the thread that renders templates. It is an entry point of the executable, as the writer is. */
export const startTemplateThread = (): Worker =>
  new Worker(new URL('./template-thread.ts', import.meta.url).href, { smol: true })
