/* h5zarr: HDF5 VOL connector for Zarr stores. C only; nothing to link: HDF5 loads the plugin from
 * HDF5_PLUGIN_PATH (or its default plugin folder).
 *
 * Most programs need none of this: HDF5_VOL_CONNECTOR=zarr in the environment is enough.
 */
#ifndef H5ZARR_H5ZARR_H
#define H5ZARR_H5ZARR_H

#include <hdf5.h>

#define H5ZARR_CONNECTOR_NAME "zarr"
#define H5ZARR_CONNECTOR_VALUE 480

/* Makes files opened or created with `fapl` go through h5zarr, configured by `config`
 * ("key=value;key=value", see README.md; NULL or "" for the defaults). Returns a negative value when
 * the plugin cannot be found; a bad key is reported by the first H5Fcreate or H5Fopen. */
static inline herr_t H5Pset_fapl_h5zarr(hid_t fapl, const char *config)
{
    hid_t  connector = H5VLregister_connector_by_name(H5ZARR_CONNECTOR_NAME, H5P_DEFAULT);
    void  *info      = NULL;
    herr_t status;

    if (connector < 0)
        return -1;
    if (config && *config && H5VLconnector_str_to_info(config, connector, &info) < 0) {
        H5VLclose(connector);
        return -1;
    }
    status = H5Pset_vol(fapl, connector, info);
    if (info)
        H5VLfree_connector_info(connector, info);
    H5VLclose(connector);
    return status;
}

#endif /* H5ZARR_H5ZARR_H */
