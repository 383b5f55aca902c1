/** The lines that give the user of an Asterisk its rights, in its section of manager.conf. */
export const READ_LINE = 'read = system,call,agent,dialplan,cdr'
export const WRITE_LINE = 'write = reporting'
