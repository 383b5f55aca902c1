/** The states of a delivery, by the number that is stored. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'cancelled'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Returns the number under which a state is stored. */
export const stateNumber = (state: DeliveryState): number => DELIVERY_STATES.indexOf(state)
