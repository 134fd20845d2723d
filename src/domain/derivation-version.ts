/**
 * Version of the definitions that facts are made by, stored with each fact. Raised with every change after which the same
 * log gives other facts; `booth-gateway rebuild` then brings the stored ones up to it.
 */
export const DERIVATION_VERSION = 9;
