// PerThread<T>: one T a thread, for the contexts of compression libraries. Private to
// filters/codec.
//
// Not thread_local T: HDF5 closes files from atexit handlers, which on the main thread run after
// destructors of thread_local objects. A key's destructor never runs at exit, so the main thread's
// T serves to the very end and goes with the process; other threads free theirs when they end.
#ifndef H5ZARR_CODEC_PER_THREAD_H_
#define H5ZARR_CODEC_PER_THREAD_H_

#include <pthread.h>

#include <new>

namespace h5zarr::codec {

template <typename T>
class PerThread {
 public:
  // The calling thread's T; null when there is no memory or no key for one. T's constructor must
  // not throw. Not to be kept across calls that may use it too.
  static T* Get() {
    if (mine_ == nullptr) mine_ = Make();
    return mine_;
  }

 private:
  struct Key {
    pthread_key_t key;
    bool valid;
  };

  static T* Make() {
    static const Key key = MakeKey();
    if (!key.valid) return nullptr;
    T* made = new (std::nothrow) T();
    if (made != nullptr && pthread_setspecific(key.key, made) != 0) {
      delete made;
      return nullptr;
    }
    return made;
  }
  static Key MakeKey() {
    Key key;
    key.valid = pthread_key_create(&key.key, &Free) == 0;
    return key;
  }
  static void Free(void* made) {
    mine_ = nullptr;  // another key's destructor may decode something still
    delete static_cast<T*>(made);
  }

  static thread_local T* mine_;
};

template <typename T>
thread_local T* PerThread<T>::mine_ = nullptr;

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_PER_THREAD_H_
