//! What do calls of the simulated kernel fail with?

use workload::Errno;

/// `ENOENT`
pub(crate) const NOENT: Errno = Errno(2);
/// `EBADF`
pub(crate) const BADF: Errno = Errno(9);
/// `ENOMEM`
pub(crate) const NOMEM: Errno = Errno(12);
/// `EFAULT`
pub(crate) const FAULT: Errno = Errno(14);
/// `EEXIST`
pub(crate) const EXIST: Errno = Errno(17);
/// `EINVAL`
pub(crate) const INVAL: Errno = Errno(22);
/// `EFBIG`
pub(crate) const FBIG: Errno = Errno(27);
