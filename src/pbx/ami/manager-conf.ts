/** The lines that give an Asterisk user its permissions, in its section of manager.conf. */
export const READ_LINE = 'read = system,call,agent,dialplan,cdr'
export const WRITE_LINE = 'write = reporting'
