/** For a bridge that serves one user: the revision of the instance that a router means. Another bridge does not take the request. */
export const INSTANCE_HEADER = 'portolan-instance'
