//! Data stores: a record says that there is one; its values are in a scope of their own.

use domain::ids::DataStoreId;
use serde::{Deserialize, Serialize};

use super::Stored;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DataStore {
    pub id: DataStoreId,
    /// Unique among those of an account.
    pub name: String,
    pub created_at: u64,
    pub updated_at: u64,
}

impl Stored for DataStore {
    const KIND: &'static str = "data_store";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        Some(self.name.clone())
    }
}
