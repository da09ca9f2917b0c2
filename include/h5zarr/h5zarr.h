/* h5zarr: HDF5 VOL connector for Zarr stores. For C99 and C++, with the headers of HDF5 1.14 and newer. Nothing
 * to link: HDF5 loads the plugin from HDF5_PLUGIN_PATH (or its default plugin folder).
 *
 * Most programs need none of this: HDF5_VOL_CONNECTOR=zarr in the environment is enough.
 */
#ifndef H5ZARR_H5ZARR_H
#define H5ZARR_H5ZARR_H

#include <hdf5.h>

#define H5ZARR_CONNECTOR_NAME "zarr"
#define H5ZARR_CONNECTOR_VALUE 480 /* H5VL_class_value_t */

/* Makes files opened or created with the file access list `fapl` go through h5zarr, configured by `config`
 * ("key=value;key=value", see README.md; NULL or "" for the defaults), which is copied. Returns a negative value,
 * with HDF5's reason on its error stack, when the plugin cannot be found or `fapl` is no such list; a bad key or
 * value is reported by the first H5Fcreate or H5Fopen. To be called as HDF5's own functions are, from one thread
 * at a time where HDF5 was built without thread-safety. */
static inline herr_t H5Pset_fapl_h5zarr(hid_t fapl, const char* config) {
  hid_t connector = H5VLregister_connector_by_name(H5ZARR_CONNECTOR_NAME, H5P_DEFAULT);
  void* info = NULL;
  herr_t status;

  if (connector < 0) return -1;
  if (config && *config && H5VLconnector_str_to_info(config, connector, &info) < 0) {
    H5VLclose(connector);
    return -1;
  }
  status = H5Pset_vol(fapl, connector, info);
  if (info) H5VLfree_connector_info(connector, info);
  H5VLclose(connector);
  return status;
}

#endif /* H5ZARR_H5ZARR_H */
