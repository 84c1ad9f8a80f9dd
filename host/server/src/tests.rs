//! The API over a real socket, on a platform of stand-ins.
