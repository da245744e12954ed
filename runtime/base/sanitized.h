/* SANITIZED: this is a sanitizer's build. Its run-time looks functions up before it can be called itself and puts its own in the place of others, so that we must not. */
#ifndef HEDDLE_BASE_SANITIZED_H
#define HEDDLE_BASE_SANITIZED_H
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif
#endif
