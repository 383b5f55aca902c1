// Looks up who calls in the account's own system. Needs flows for the request; calls know it as `ContactLookUps`.

export { type ContactDirectory, createContactDirectory } from './directory.ts'
export { ContactSettings, NewContactSettings } from './model.ts'
export { createContactService } from './service.ts'
