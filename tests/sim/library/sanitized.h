/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sanitizer looks at memory, or at who runs on which stack. */
#ifndef NOF_SIM_LIBRARY_SANITIZED_H
#define NOF_SIM_LIBRARY_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NOF_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NOF_SANITIZED 1
#endif
#endif
#ifndef NOF_SANITIZED
#define NOF_SANITIZED 0
#endif

#endif
