/** For a bridge that serves one user: the revision of the instance that a router addresses. Other instances reject the request. */
export const INSTANCE_HEADER = 'portolan-instance'
