// at_close: what is done when the library begins to close, as a program ends or calls H5close.
#ifndef H5ZARR_H5_AT_CLOSE_H_
#define H5ZARR_H5_AT_CLOSE_H_

namespace h5zarr {

// Has HDF5 call us once when it begins to close. Then files that the program left open are saved while there
// still are datatypes, which attributes need; a failure is printed, nobody being left to return it to.
void RegisterAtClose();

}  // namespace h5zarr

#endif  // H5ZARR_H5_AT_CLOSE_H_
