/** The methods that a request of a flow, log-in or look-up may have. */
export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
